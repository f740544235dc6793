// The page of Location.
export function LocationPage({ locationId }: { readonly locationId: string }) {
  return <h1>{locationId}</h1>;
}
