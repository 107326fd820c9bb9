package names

import "strings"

// Mark is a variable that tells a library the job's class or partition, as Railweave answers it with each rank.
type Mark struct {
	Variable string
	// Unset is what leaves the library as if the variable were not set: "" is no number for most of them.
	Unset string
	// Asked is for libraries that have no such value: their variables are given to pods that ask for a class or a guarantee.
	Asked bool
}

// Marks are all that Railweave knows. The page of each library is named in services/rest/json/library_variables.cc.
var Marks = []Mark{
	{Variable: "NCCL_IB_SL"}, {Variable: "NCCL_IB_TC"}, {Variable: "NCCL_IB_FIFO_TC"}, {Variable: "NCCL_IB_PKEY"},
	{Variable: "UCX_IB_SL", Unset: "auto"}, {Variable: "UCX_IB_TRAFFIC_CLASS", Unset: "auto"}, {Variable: "UCX_IB_PKEY", Unset: "auto"},
	{Variable: "NVSHMEM_IB_SL", Unset: "0"}, {Variable: "NVSHMEM_IB_TRAFFIC_CLASS", Unset: "0"},
	{Variable: "MC_IB_SL", Unset: "-1"}, {Variable: "MC_IB_TC", Unset: "-1"}, {Variable: "MC_PKEY_INDEX", Unset: "0"},
	{Variable: "ROCSHMEM_GDA_TRAFFIC_CLASS", Unset: "0"},
	{Variable: "EP_OVERRIDE_RDMA_SL", Unset: "0", Asked: true},
	{Variable: "MORI_RDMA_SL", Unset: "0", Asked: true}, {Variable: "MORI_RDMA_TC", Unset: "0", Asked: true},
	{Variable: "MORI_IO_SL", Unset: "0", Asked: true}, {Variable: "MORI_IO_TC", Unset: "0", Asked: true},
	{Variable: "UCCL_IB_SL", Unset: "0", Asked: true}, {Variable: "UCCL_IB_TC", Unset: "0", Asked: true},
	{Variable: "RAILWEAVE_OUTSIDE_CLASS"}, {Variable: "RAILWEAVE_OUTSIDE_PARTITION"},
}

// Annotation is what a pod has the variable's value in: railweave.dev/nccl-ib-sl.
func (m Mark) Annotation() string {
	return Prefix + strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(m.Variable, "RAILWEAVE_"), "_", "-"))
}
