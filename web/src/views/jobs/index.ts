export { Jobs } from './jobs';
export { JobView } from './job';
export { Queue } from './queue';
export { Submit } from './submit';
