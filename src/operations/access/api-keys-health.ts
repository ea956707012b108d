import { Injectable } from '@nestjs/common';
import { FeatureHealth, type HealthReport } from '../../platform/observability/feature-health.js';
import { ApiKeyStore } from './api-key-store.js';

/** Never down: while a new file cannot be used, the previous keys stay in use. */
@Injectable()
export class ApiKeysHealth extends FeatureHealth {
  readonly name = 'apiKeys';

  constructor(private readonly keys: ApiKeyStore) {
    super();
  }

  report(): HealthReport {
    const { code } = this.keys.status;
    return { isUp: true, facts: code === undefined ? {} : { code } };
  }
}
