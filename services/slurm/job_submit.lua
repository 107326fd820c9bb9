-- Marks jobs that Railweave shall place. It does no I/O, as it runs under slurmctld's locks: a marked job does not begin
-- before the grace period is over, and railweave-slurm places it before that. Where railweave-slurm, Railweave or the
-- network is away, the job starts by itself then.
--
-- slurm.conf: JobSubmitPlugins=lua, with this file beside slurm.conf.

local grace_seconds = 120 -- as railweave-slurm --grace

-- Slurm's values for "not set", with some that older releases use.
local function set(value)
  return value ~= nil and value ~= "" and value ~= slurm.NO_VAL and value ~= slurm.NO_VAL64 and value ~= 0
end

-- What the SPANK plugin's options say (sbatch --railweave-tp=8), which reaches slurmctld with the environment of prologs.
local function take_options(job)
  for _, variable in pairs(job.spank_job_env or {}) do
    local words = string.match(variable, "RAILWEAVE=([%w=%. _-]+)")
    if words then
      local comment = job.comment or ""
      if not string.find(comment, "railweave:", 1, true) then
        comment = comment .. (comment == "" and "" or " ") .. "railweave:"
      end
      job.comment = comment .. " " .. words
    end
  end
end

-- A part of a heterogeneous job is placed together with the others, of one node or of more.
local function is_part_with_gpus(job)
  local is_part = job.het_job_offset ~= nil and job.het_job_offset ~= slurm.NO_VAL
  return is_part and string.find(job.tres_per_node or job.gres or "", "gpu", 1, true) ~= nil
end

function slurm_job_submit(job, partitions, uid)
  take_options(job)
  -- Who named nodes, or those not to have, a reservation or a time, or holds the job, has decided.
  if set(job.req_nodes) or set(job.exc_nodes) or set(job.reservation) or set(job.begin_time) or job.priority == 0 then
    return slurm.SUCCESS
  end
  local nodes = job.min_nodes
  if (not set(nodes) or nodes < 2) and not is_part_with_gpus(job) then
    return slurm.SUCCESS
  end
  job.admin_comment = "railweave: waits to be placed"
  job.begin_time = os.time() + grace_seconds
  return slurm.SUCCESS
end

function slurm_job_modify(job, record, partitions, uid)
  return slurm.SUCCESS
end

return slurm.SUCCESS
