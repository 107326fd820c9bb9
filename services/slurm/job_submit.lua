-- Marks jobs that Railweave shall place. It does no I/O, as it runs under slurmctld's locks: a marked job does not begin
-- before the grace period is over, and railweave-slurm places it before that. Where railweave-slurm, Railweave or the
-- network is away, the job starts by itself then.
--
-- slurm.conf: JobSubmitPlugins=lua, with this file beside slurm.conf.

local grace_seconds = 120 -- as railweave-slurm --grace
local gpus_per_node = 8 -- the most that a node has
local cpus_per_node = 0 -- the most that a node has; 0: not known, then numbers of tasks alone do not tell of several nodes

-- Slurm's values for "not set", with some that older releases use.
local function set(value)
  return value ~= nil and value ~= "" and value ~= slurm.NO_VAL and value ~= slurm.NO_VAL64 and value ~= 0
end

-- Of a number that Slurm counts in 16 bits too.
local function count(value)
  if not set(value) or value >= 0xfffe then
    return 0
  end
  return value
end

-- Of "gres:gpu:h100:8", "gres/gpu:8"; a GPU without a number is one.
local function gpus(tres)
  local all = 0
  for part in string.gmatch(tres or "", "[^,;]+") do
    if string.find(part, "gpu", 1, true) then
      all = all + (tonumber(string.match(part, "[:=](%d+)$")) or 1)
    end
  end
  return all
end

-- Whether the job will get several nodes, however it says so.
local function needs_nodes(job)
  local tasks, per_node = count(job.num_tasks), count(job.ntasks_per_node)
  if count(job.min_nodes) >= 2 or (per_node > 0 and tasks > per_node) then
    return true
  end
  if gpus(job.tres_per_job) > gpus_per_node or gpus(job.tres_per_task) * math.max(tasks, 1) > gpus_per_node then
    return true
  end
  return cpus_per_node > 0 and tasks * math.max(count(job.cpus_per_task), 1) > cpus_per_node
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

local spread_job = 256 -- a bit of bitflags: `--spread-job`

-- What only Slurm can hold its nodes to.
local function is_for_slurm(job)
  if count(job.contiguous) > 0 or count(job.req_switch) > 0 or count(job.sockets_per_node) > 0 or set(job.pn_min_tmp_disk) then
    return true
  end
  return set(job.bitflags) and math.floor(job.bitflags / spread_job) % 2 == 1
end

function slurm_job_submit(job, partitions, uid)
  take_options(job)
  -- Who named nodes, or those not to have, a reservation or a time, or holds the job, has decided.
  if set(job.req_nodes) or set(job.exc_nodes) or set(job.reservation) or set(job.begin_time) or job.priority == 0 then
    return slurm.SUCCESS
  end
  -- A time to begin would make these fail; licences and burst buffers are waited for in Slurm.
  if set(job.deadline) or job.immediate == 1 or set(job.licenses) or set(job.burst_buffer) then
    return slurm.SUCCESS
  end
  if is_for_slurm(job) or not needs_nodes(job) and not is_part_with_gpus(job) then
    return slurm.SUCCESS
  end
  local others = set(job.admin_comment) and " | " .. job.admin_comment or ""
  job.admin_comment = "railweave: waits to be placed, or begins by itself at its StartTime" .. others
  job.begin_time = os.time() + grace_seconds
  return slurm.SUCCESS
end

function slurm_job_modify(job, record, partitions, uid)
  return slurm.SUCCESS
end

return slurm.SUCCESS
