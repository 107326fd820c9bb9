// Every view and its URL. The code of views beyond the first is loaded after it, or when they are opened before that.
import { createRootRoute, createRoute, createRouter, Link } from '@tanstack/react-router';
import { Empty, ProblemBox } from '../parts/basics';
import { Overview } from '../views/overview/overview';
import { parseSearch, stringifySearch, type Search } from '../parts/params';
import { Shell } from './shell';
import { lateView, type Load } from './view';

const root = createRootRoute({
  component: Shell,
  validateSearch: (search: Record<string, unknown>) => search as Search,
  notFoundComponent: () => (
    <Empty title="There is no such view">
      <Link to="/">Overview</Link>
    </Empty>
  ),
});

const loads: Load[] = [() => import('../views/fabric'), () => import('../views/jobs'), () => import('../views/tenants'), () => import('../views/drains'), () => import('../views/alarms'), () => import('../views/planning')];
const [fabric, jobs, tenants, drains, alarms, planning] = loads.map(lateView) as [Late, Late, Late, Late, Late, Late];
type Late = ReturnType<typeof lateView>;

const view = <const Path extends string>(path: Path, of: Late, name: string) => createRoute({ getParentRoute: () => root, path, component: of(name) });

// All of the code, once there is time: what was not opened before is there when the service is not.
export function loadAhead() {
  for (const load of loads) void load().catch(() => undefined);
}

const routes = root.addChildren([
  createRoute({ getParentRoute: () => root, path: '/', component: Overview }),
  view('/fabric', fabric, 'Fabric'),
  view('/switches/$id', fabric, 'SwitchView'),
  view('/nodes/$id', fabric, 'NodeView'),
  view('/links/$', fabric, 'LinkView'),
  view('/path', fabric, 'PathView'),
  view('/jobs', jobs, 'Jobs'),
  view('/jobs/$id', jobs, 'JobView'),
  view('/queue', jobs, 'Queue'),
  view('/submit', jobs, 'Submit'),
  view('/tenants', tenants, 'Tenants'),
  view('/tenants/$id', tenants, 'TenantView'),
  view('/guarantees', tenants, 'Guarantees'),
  view('/drains', drains, 'Drains'),
  view('/drain', drains, 'DrainWizard'),
  view('/alarms', alarms, 'Alarms'),
  view('/events', alarms, 'Events'),
  view('/planning', planning, 'Planning'),
]);

export const router = createRouter({
  routeTree: routes,
  basepath: '/console',
  parseSearch,
  stringifySearch,
  defaultPreload: 'intent',
  defaultErrorComponent: ({ error, reset }) => <ProblemBox error={error} retry={reset} />,
});

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}
