-- What can be done with a Deployment of rollwright.dev now.
local status = obj.status or {}
local paused = obj.spec.paused == true
return {
  ["restart"] = { ["disabled"] = paused },
  ["pause"] = { ["disabled"] = paused },
  ["resume"] = { ["disabled"] = not paused },
  -- A paused Deployment does not roll back, and the first revision has none before it.
  ["undo"] = { ["disabled"] = paused or (status.revision or 0) < 2 },
}
