import { packService } from './packed-service.js';

/** Packs the built service, and prints where it is. */
console.log(await packService());
