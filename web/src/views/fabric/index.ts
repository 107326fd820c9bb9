export { Fabric } from './fabric';
export { SwitchView } from './switch';
export { NodeView } from './node';
export { LinkView } from './link';
export { PathView } from './path';
