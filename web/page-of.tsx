// The page of a route, loaded on first use.
import type { ComponentType } from 'preact';
import { useErrorBoundary, useLayoutEffect, useState } from 'preact/hooks';
import { LocationsPage } from './locations/locations-page.js';
import type { Route } from './route.js';
import { useTitle } from './shell/title.js';
import { Notice } from './ui/notice.js';

const LocationPage = fetched(() => import('./location/location-page.js').then((m) => m.LocationPage));
const ClustersPage = fetched(() => import('./clusters/clusters-page.js').then((m) => m.ClustersPage));
const ClusterPage = fetched(() => import('./clusters/cluster-page.js').then((m) => m.ClusterPage));
const OrganizationPage = fetched(() =>
  import('./organization/organization-page.js').then((m) => m.OrganizationPage),
);
const AlarmsPage = fetched(() => import('./alarms/alarms-page.js').then((m) => m.AlarmsPage));
const WebhooksPage = fetched(() => import('./webhooks/webhooks-page.js').then((m) => m.WebhooksPage));
const AccessPage = fetched(() => import('./access/access-page.js').then((m) => m.AccessPage));

export function PageOf({ route }: { readonly route: Route }) {
  const [failure] = useErrorBoundary((error) => console.error(error));
  if (failure !== undefined) {
    return (
      <Notice kind="error">This page failed. Reload to try again; the service goes on without it.</Notice>
    );
  }
  return <Page route={route} />;
}

function Page({ route }: { readonly route: Route }) {
  switch (route.page) {
    case 'locations':
      return <LocationsPage />;
    case 'location':
      // The key gives each location a page of its own, so that no state of one location is shown for the next.
      return <LocationPage key={route.locationId} locationId={route.locationId} />;
    case 'clusters':
      return <ClustersPage />;
    case 'cluster':
      return <ClusterPage key={route.clusterId} clusterId={route.clusterId} />;
    case 'organization':
      return <OrganizationPage />;
    case 'alarms':
      return <AlarmsPage />;
    case 'webhooks':
      return <WebhooksPage />;
    case 'access':
      return <AccessPage />;
    case 'unknown':
      return <UnknownPage />;
  }
}

function UnknownPage() {
  useTitle('Page not found');
  return <Notice kind="error">There is no such page.</Notice>;
}

function fetched<Props extends object>(load: () => Promise<ComponentType<Props>>): ComponentType<Props> {
  let held: ComponentType<Props> | undefined;
  let loading: Promise<ComponentType<Props>> | undefined;
  function begin(): Promise<ComponentType<Props>> {
    loading ??= load().then((page) => {
      held = page;
      return page;
    });
    return loading;
  }
  return function Fetched(props: Props) {
    const [Page, setPage] = useState<ComponentType<Props> | undefined>(() => held);
    const [hasFailed, setFailed] = useState(false);
    // The load begins during the first rendering, before effects run: no other step delays the first view as much.
    const [asked] = useState(begin);
    useLayoutEffect(() => {
      if (Page !== undefined) return;
      asked.then(
        (page) => setPage(() => page),
        () => {
          loading = undefined;
          setFailed(true);
        },
      );
    }, []);
    if (Page !== undefined) return <Page {...props} />;
    if (!hasFailed) return <p class="quiet">Loading…</p>;
    return <Notice kind="error">This page could not be loaded. Reload to try again.</Notice>;
  };
}
