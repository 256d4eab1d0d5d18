-- Health of a Deployment of rollwright.dev: what its conditions Ready, Reconciling and Stalled say.
local status = obj.status or {}

local function condition(kind)
  for _, entry in ipairs(status.conditions or {}) do
    if entry.type == kind then
      return entry
    end
  end
  return nil
end

if status.observedGeneration ~= obj.metadata.generation then
  return { status = "Progressing", message = "waiting for the operator to look at the last change" }
end
if obj.spec.paused then
  return { status = "Suspended", message = "paused: set spec.paused to false to go on" }
end
local stalled = condition("Stalled")
if stalled ~= nil and stalled.status == "True" then
  return { status = "Degraded", message = stalled.message }
end
local ready = condition("Ready")
if ready == nil then
  return { status = "Progressing", message = "waiting for the operator to report" }
end
if ready.status == "True" then
  return { status = "Healthy", message = ready.message }
end
return { status = "Progressing", message = ready.message }
