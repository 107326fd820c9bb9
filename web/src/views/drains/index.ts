export { Drains } from './drains';
export { DrainWizard } from './wizard';
