-- 0 is the revision before the present one. The operator puts its template back and takes the request
-- out again.
obj.spec.rollbackTo = { revision = 0 }
return obj
