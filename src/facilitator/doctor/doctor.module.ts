import { Module } from '@nestjs/common';
import { ChainModule } from '../../platform/chain/chain.module.js';
import { VerificationModule } from '../verify/verification.module.js';
import { Doctor } from './doctor.js';
import { DoctorV2Controller } from './doctor.v2.controller.js';
import { DoctorFetch, DoctorLimiter } from './doctor-fetch.js';
import { DoctorPageController } from './doctor-page.controller.js';

/** Present only where the check is turned on. */
@Module({
  imports: [ChainModule, VerificationModule],
  controllers: [DoctorV2Controller, DoctorPageController],
  providers: [Doctor, DoctorFetch, DoctorLimiter],
})
export class DoctorModule {}
