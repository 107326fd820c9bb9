// Every view and its URL. Views beyond the first ones are loaded when they are opened.
import { createRootRoute, createRoute, createRouter, lazyRouteComponent, Link } from '@tanstack/react-router';
import { Empty, ProblemBox } from '../parts/basics';
import { Overview } from '../views/overview/overview';
import { parseSearch, stringifySearch, type Search } from './params';
import { Shell } from './shell';

const root = createRootRoute({
  component: Shell,
  validateSearch: (search: Record<string, unknown>) => search as Search,
  notFoundComponent: () => (
    <Empty title="There is no such view">
      <Link to="/">Overview</Link>
    </Empty>
  ),
});

const view = <const Path extends string>(path: Path, load: () => Promise<Record<string, unknown>>, name: string) =>
  createRoute({
    getParentRoute: () => root,
    path,
    component: lazyRouteComponent(load as () => Promise<Record<string, () => React.ReactNode>>, name),
  });

const fabric = () => import('../views/fabric');
const jobs = () => import('../views/jobs');
const tenants = () => import('../views/tenants');
const drains = () => import('../views/drains');
const alarms = () => import('../views/alarms');
const planning = () => import('../views/planning');

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
