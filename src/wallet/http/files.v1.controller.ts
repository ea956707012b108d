import { Body, Controller, HttpCode, Post, UseFilters, UseGuards } from '@nestjs/common';
import type { z } from 'zod';
import type { Session } from '../session.js';
import {
  FileListInput,
  FileNameInput,
  FilePutInput,
  FileShareInput,
  FileUnshareInput,
  FileUploadInput,
} from '../tools/file-shapes.js';
import { WalletToolsService } from '../tools/wallet-tools.service.js';
import { CurrentSession, WalletAccess, WalletAuthGuard } from './wallet-auth.guard.js';
import { WalletErrorFilter } from './wallet-error.filter.js';
import { ZodPipe } from './zod.pipe.js';

type Answer = Readonly<Record<string, unknown>>;

/** The files of whoever bears the token. Names are in bodies: what is in a URL ends in logs. */
@Controller('v1/wallets/me/files')
@UseFilters(WalletErrorFilter)
@UseGuards(WalletAuthGuard)
@WalletAccess('session')
export class FilesV1Controller {
  constructor(private readonly walletTools: WalletToolsService) {}

  @Post('put')
  @HttpCode(200)
  put(
    @CurrentSession() session: Session,
    @Body(new ZodPipe(FilePutInput)) asked: z.infer<typeof FilePutInput>,
  ): Promise<Answer> {
    return this.walletTools.of(session).files.put(asked);
  }

  @Post('upload-address')
  @HttpCode(200)
  uploadAddress(
    @CurrentSession() session: Session,
    @Body(new ZodPipe(FileUploadInput)) asked: z.infer<typeof FileUploadInput>,
  ): Promise<Answer> {
    return this.walletTools.of(session).files.uploadAddress(asked);
  }

  @Post('get')
  @HttpCode(200)
  get(
    @CurrentSession() session: Session,
    @Body(new ZodPipe(FileNameInput)) asked: z.infer<typeof FileNameInput>,
  ): Promise<Answer> {
    return this.walletTools.of(session).files.get(asked);
  }

  @Post('list')
  @HttpCode(200)
  list(
    @CurrentSession() session: Session,
    @Body(new ZodPipe(FileListInput)) asked: z.infer<typeof FileListInput>,
  ): Promise<Answer> {
    return this.walletTools.of(session).files.list(asked);
  }

  @Post('share')
  @HttpCode(200)
  share(
    @CurrentSession() session: Session,
    @Body(new ZodPipe(FileShareInput)) asked: z.infer<typeof FileShareInput>,
  ): Promise<Answer> {
    return this.walletTools.of(session).files.share(asked);
  }

  @Post('unshare')
  @HttpCode(200)
  unshare(
    @CurrentSession() session: Session,
    @Body(new ZodPipe(FileUnshareInput)) asked: z.infer<typeof FileUnshareInput>,
  ): Promise<Answer> {
    return this.walletTools.of(session).files.unshare(asked);
  }

  @Post('delete')
  @HttpCode(200)
  remove(
    @CurrentSession() session: Session,
    @Body(new ZodPipe(FileNameInput)) asked: z.infer<typeof FileNameInput>,
  ): Promise<Answer> {
    return this.walletTools.of(session).files.remove(asked);
  }
}
