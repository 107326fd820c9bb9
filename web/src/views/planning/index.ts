export { Planning } from './planning';
