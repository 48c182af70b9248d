import { plugins as badge } from './badge';
import { plugins as free } from './free';
import { plugins as panel } from './panel';
import { plugins as running } from './running';
import { plugins as service } from './service';
import { plugins as statusbar } from './statusbar';

export * from './tokens';

export default [
  ...service,
  ...panel,
  ...badge,
  ...running,
  ...statusbar,
  ...free
];
