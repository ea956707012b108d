import type { RequestHandler } from 'express';
import helmet from 'helmet';

/**
 * Headers of HTML pages: resources only from this host, no frames, no inline scripts or styles. JSON answers do not
 * need them, because no browser renders JSON.
 */
export const pageHeaders: RequestHandler = helmet({
  contentSecurityPolicy: {
    useDefaults: false,
    directives: {
      defaultSrc: ["'none'"],
      scriptSrc: ["'self'"],
      styleSrc: ["'self'"],
      // An empty icon keeps browsers from requesting one.
      imgSrc: ["'self'", 'data:'],
      connectSrc: ["'self'"],
      baseUri: ["'none'"],
      formAction: ["'none'"],
      frameAncestors: ["'none'"],
    },
  },
  referrerPolicy: { policy: 'no-referrer' },
  // TLS is terminated by a proxy, which decides about HSTS.
  strictTransportSecurity: false,
});
