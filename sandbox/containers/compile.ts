/** Compiles the sandbox's contracts while the image is built: a container starts without the compiler. */
import { compileFolder } from '../compile.js';
import { CONTRACTS } from '../deploy.js';

compileFolder(CONTRACTS);
