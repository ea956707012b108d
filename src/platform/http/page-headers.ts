import type { RequestHandler } from 'express';
import helmet from 'helmet';

/**
 * Headers of the pages people look at: nothing is loaded but from here, no frame shows them, no script
 * or style stands in them. They do not go with JSON answers, which no browser renders.
 */
export const pageHeaders: RequestHandler = helmet({
  contentSecurityPolicy: {
    useDefaults: false,
    directives: {
      defaultSrc: ["'none'"],
      scriptSrc: ["'self'"],
      styleSrc: ["'self'"],
      // An empty icon, so that no browser asks for one.
      imgSrc: ["'self'", 'data:'],
      connectSrc: ["'self'"],
      baseUri: ["'none'"],
      formAction: ["'none'"],
      frameAncestors: ["'none'"],
    },
  },
  referrerPolicy: { policy: 'no-referrer' },
  // The proxy that terminates TLS decides whether this host must use TLS.
  strictTransportSecurity: false,
});
