export { Tenants, TenantView } from './tenants';
export { Guarantees } from './guarantees';
