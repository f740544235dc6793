// The page of Alarms.
export function AlarmsPage() {
  return <h1>Alarms</h1>;
}
