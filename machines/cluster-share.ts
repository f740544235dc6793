// A cluster's cap, shared among its member locations in proportion to what each is set to.

/** `min(1, clusterLimitKw / sumLocationLimitsKw)` (contract section 2.8); 1 where there is no cap. */
export function clusterScale(clusterLimitKw: number | null, sumLocationLimitsKw: number): number {
  if (clusterLimitKw === null || sumLocationLimitsKw <= 0) return 1;
  return Math.min(1, clusterLimitKw / sumLocationLimitsKw);
}
