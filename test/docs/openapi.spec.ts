import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { createConfig, lintFromString } from '@redocly/openapi-core';
import {
  DiscoveryRootController,
  DiscoveryV1Controller,
  DiscoveryV2Controller,
} from '../../src/discovery/asking/discovery.controller.js';
import { DISCOVERY_OPENAPI } from '../../src/discovery/discovery.openapi.js';
import { AssetsV2Controller } from '../../src/facilitator/assets/assets.v2.controller.js';
import { DOCTOR_OPENAPI } from '../../src/facilitator/doctor/doctor.openapi.js';
import { DoctorV2Controller } from '../../src/facilitator/doctor/doctor.v2.controller.js';
import { FacilitatorRootController } from '../../src/facilitator/facilitator.root.controller.js';
import { FacilitatorV1Controller } from '../../src/facilitator/facilitator.v1.controller.js';
import { FacilitatorV2Controller } from '../../src/facilitator/facilitator.v2.controller.js';
import { FACILITATOR_OPENAPI } from '../../src/facilitator/openapi/facilitator.openapi.js';
import { SettlementsV2Controller } from '../../src/facilitator/status/settlements.v2.controller.js';
import { ReceiptKeysController } from '../../src/history/receipts/receipt-keys.controller.js';
import { SELLERS_OPENAPI } from '../../src/history/sellers/sellers.openapi.js';
import { SellersV2Controller } from '../../src/history/sellers/sellers.v2.controller.js';
import { StatsController } from '../../src/history/stats/stats.controller.js';
import { WEBHOOKS_OPENAPI } from '../../src/history/webhooks/webhooks.openapi.js';
import { WebhooksV2Controller } from '../../src/history/webhooks/webhooks.v2.controller.js';
import { ApiConversationController } from '../../src/hub/api/api-conversation.controller.js';
import { ApiDownloadController } from '../../src/hub/api/api-download.controller.js';
import { ApiIncomingController } from '../../src/hub/api/api-incoming.controller.js';
import { ApiInfoController } from '../../src/hub/api/api-info.controller.js';
import { ApiListController } from '../../src/hub/api/api-list.controller.js';
import { ApiObjectController } from '../../src/hub/api/api-object.controller.js';
import { ApiPriceController } from '../../src/hub/api/api-price.controller.js';
import { ApiRetentionController } from '../../src/hub/api/api-retention.controller.js';
import { ApiSharedController } from '../../src/hub/api/api-shared.controller.js';
import { ApiUploadController } from '../../src/hub/api/api-upload.controller.js';
import { ApiVersionController } from '../../src/hub/api/api-version.controller.js';
import { HUB_OPENAPI } from '../../src/hub/hub.openapi.js';
import { HUB_OPERATORS_OPENAPI } from '../../src/hub/operators/operators.openapi.js';
import { TakedownsController } from '../../src/hub/operators/takedowns.controller.js';
import { V1BucketsController } from '../../src/hub/v1/v1-buckets.controller.js';
import { V1ObjectsController } from '../../src/hub/v1/v1-objects.controller.js';
import { V1TotalsController } from '../../src/hub/v1/v1-totals.controller.js';
import { AdminController } from '../../src/operations/admin/admin.controller.js';
import { ADMIN_OPENAPI } from '../../src/operations/admin/admin.openapi.js';
import { AdminCatalogueController } from '../../src/operations/admin/admin-catalogue.controller.js';
import { AdminHistoryController } from '../../src/operations/admin/admin-history.controller.js';
import { HealthController } from '../../src/operations/health/health.controller.js';
import { HEALTH_OPENAPI } from '../../src/operations/health/health.openapi.js';
import { openApiDocument } from '../../src/platform/openapi/document.js';
import { type ReasonFacts, REASONS } from '../../src/protocol/reasons.js';
import { AsksV1Controller } from '../../src/wallet/asks/asks.v1.controller.js';
import { ApprovalsV1Controller } from '../../src/wallet/http/approvals.v1.controller.js';
import { FilesV1Controller } from '../../src/wallet/http/files.v1.controller.js';
import { SignInV1Controller } from '../../src/wallet/http/sign-in.v1.controller.js';
import { TokensV1Controller } from '../../src/wallet/http/tokens.v1.controller.js';
import { WalletsV1Controller } from '../../src/wallet/http/wallets.v1.controller.js';
import { ConsentController } from '../../src/wallet/oauth/consent.controller.js';
import { GrantsV1Controller } from '../../src/wallet/oauth/grants.v1.controller.js';
import { WALLET_OPENAPI } from '../../src/wallet/openapi/wallet.openapi.js';
import { PasskeysV1Controller } from '../../src/wallet/passkeys/passkeys.v1.controller.js';
import { describedControllers } from '../support/described-controllers.js';

const PARTS = [
  FACILITATOR_OPENAPI,
  SELLERS_OPENAPI,
  DISCOVERY_OPENAPI,
  DOCTOR_OPENAPI,
  WEBHOOKS_OPENAPI,
  HUB_OPENAPI,
  HUB_OPERATORS_OPENAPI,
  WALLET_OPENAPI,
  HEALTH_OPENAPI,
  ADMIN_OPENAPI,
];
/** What the decorators of controllers say, by room. */
const FACILITATOR = await describedControllers(
  FacilitatorRootController,
  FacilitatorV1Controller,
  FacilitatorV2Controller,
  SettlementsV2Controller,
);
const ROUTES = [
  FACILITATOR,
  await describedControllers(DiscoveryRootController, DiscoveryV1Controller, DiscoveryV2Controller),
  await describedControllers(StatsController),
  await describedControllers(DoctorV2Controller, AssetsV2Controller),
  await describedControllers(HealthController),
  await describedControllers(TakedownsController),
  await describedControllers(
    ApiConversationController,
    ApiDownloadController,
    ApiIncomingController,
    ApiInfoController,
    ApiListController,
    ApiObjectController,
    ApiPriceController,
    ApiRetentionController,
    ApiSharedController,
    ApiUploadController,
    ApiVersionController,
    V1BucketsController,
    V1ObjectsController,
    V1TotalsController,
  ),
  // Operators are shown some of what sellers are shown.
  await describedControllers(
    AdminController,
    AdminCatalogueController,
    AdminHistoryController,
    SellersV2Controller,
    ReceiptKeysController,
    WebhooksV2Controller,
  ),
  await describedControllers(
    SignInV1Controller,
    ApprovalsV1Controller,
    AsksV1Controller,
    PasskeysV1Controller,
    ConsentController,
    WalletsV1Controller,
    FilesV1Controller,
    TokensV1Controller,
    GrantsV1Controller,
  ),
];
const DOCUMENT = openApiDocument([...PARTS, ...ROUTES]);

describe('the OpenAPI description', () => {
  it('passes the recommended rules of a linter, examples included', async () => {
    const problems = await lintFromString({
      source: JSON.stringify(DOCUMENT),
      config: await createConfig({
        extends: ['recommended'],
        rules: {
          // It does not look past `then` and `else` for the properties.
          'no-required-schema-properties-undefined': 'off',
          // Our schemas say themselves where more fields are not allowed.
          'no-invalid-media-type-examples': { severity: 'error', allowAdditionalProperties: true },
          'no-invalid-schema-examples': 'error',
          // Health and pages have no refusals: they answer every request.
          'operation-4xx-response': 'off',
        },
      }),
    });
    expect(
      problems.map(({ ruleId, message, location }) => [ruleId, message, location[0]?.pointer]),
    ).toEqual([]);
  });

  it('is plain enough for generators of clients', () => {
    const odd: string[] = [];
    const walk = (value: unknown, at: string): void => {
      if (typeof value !== 'object' || value === null) return;
      const node = value as Readonly<Record<string, unknown>>;
      const isSchema = !at.endsWith('/properties');
      // Below these a schema only narrows the one it belongs to.
      const isNarrowing = /\/(if|then|else)\//.test(`${at}/`);
      const types = [node['type']].flat();
      if (isSchema && !isNarrowing) {
        if (('enum' in node || 'const' in node) && !('type' in node)) odd.push(`${at}: no type`);
        if (types.includes('array') && !('items' in node)) odd.push(`${at}: no items`);
        if (types.filter((type) => type !== 'null').length > 1) odd.push(`${at}: two types`);
      }
      for (const [name, child] of Object.entries(node)) {
        if (!['example', 'examples'].includes(name)) walk(child, `${at}/${name}`);
      }
    };
    walk(DOCUMENT, '');
    expect(odd).toEqual([]);
  });

  it('has no name twice', () => {
    const names = [...PARTS, ...ROUTES].flatMap(({ schemas = {}, paths = {} }) => [
      ...Object.keys(schemas),
      ...Object.keys(paths),
    ]);
    expect(new Set(names).size).toBe(names.length);
  });

  it('agrees with docs/errors.md: every reason, and the status each is told with', () => {
    const { paths = {} } = FACILITATOR;
    expect(FACILITATOR_OPENAPI.schemas?.['Reason']?.['enum']).toEqual(Object.keys(REASONS));
    const statuses = Object.values(REASONS).map((facts: ReasonFacts) =>
      String(facts.status ?? 200),
    );
    for (const prefix of ['', '/v1', '/v2']) {
      const settle = JSON.parse(JSON.stringify(paths[`${prefix}/settle`])) as {
        post: { responses: Record<string, unknown> };
      };
      expect(Object.keys(settle.post.responses)).toEqual(
        expect.arrayContaining([...new Set(statuses)]),
      );
    }
    const text = readFileSync(new URL('../../docs/errors.md', import.meta.url), 'utf8');
    const [, table = ''] = text.split('## HTTP errors');
    const documented = [...table.matchAll(/^\| ([45]\d\d) \|/gm)].map(([, status]) => status ?? '');
    const described = [...JSON.stringify(paths).matchAll(/"([45]\d\d)":/g)].map(
      ([, one]) => one ?? '',
    );
    // A description names the methods there are; 405 is for the others. 431 comes before any path.
    expect(new Set(documented)).toEqual(new Set([...described, '405', '431']));
  });
});
