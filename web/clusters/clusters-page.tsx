// The page of Clusters.
export function ClustersPage() {
  return <h1>Clusters</h1>;
}
