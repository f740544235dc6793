// The page of Cluster.
export function ClusterPage({ clusterId }: { readonly clusterId: string }) {
  return <h1>{clusterId}</h1>;
}
