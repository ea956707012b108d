import { Controller, Get, Header } from '@nestjs/common';
import { VERSION } from '../platform/config/version.js';

const PAGE = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>x402 facilitator</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="site.css">
<main>
<h1>x402 facilitator</h1>
<p>This service verifies signed x402 payments and settles them on chain. Every settle has one true
answer. Version ${VERSION}.</p>
<p>Give its URL to your x402 resource server as the facilitator. Nothing else has to change.</p>
<ul>
  <li><a href="supported">/supported</a>: networks, schemes and signers</li>
  <li><a href="health">/health</a>: whether it can settle now</li>
  <li><code>POST /verify</code>, <code>POST /settle</code>: V1 and V2; <a href="verify">how</a></li>
  <li><a href="docs">/docs</a>: every endpoint, with examples</li>
  <li><a href="discovery">/discovery</a>: what is sold through it</li>
  <li>docs/README.md: in the repository of this service, with the pages for sellers and operators</li>
</ul>
</main>
</html>
`;

@Controller()
export class LandingController {
  @Get()
  @Header('Content-Type', 'text/html; charset=utf-8')
  page(): string {
    return PAGE;
  }
}
