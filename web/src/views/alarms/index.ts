export { Alarms } from './alarms';
export { Events } from './events';
