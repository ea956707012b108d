import { Global, Module } from '@nestjs/common';
import { TerminusModule } from '@nestjs/terminus';
import { HealthController } from './health.controller.js';
import { HealthIndicators } from './health-indicators.js';
import { HealthService } from './health.service.js';

/** What every process reports, whatever its roles. Modules add their own indicators. */
@Global()
@Module({
  imports: [TerminusModule.forRoot({ logger: false })],
  controllers: [HealthController],
  providers: [HealthService, HealthIndicators],
  exports: [HealthService, HealthIndicators],
})
export class HealthModule {}
