import { Controller, HttpCode, Post, Req, UseFilters, UseGuards } from '@nestjs/common';
import type { Request } from 'express';
import type { z } from 'zod';
import type { Session } from '../session.js';
import {
  FileListInput,
  FileNameInput,
  FilePutInput,
  FileShareInput,
  type FileTools,
  FileUnshareInput,
  FileUploadInput,
} from '../tools/file-shapes.js';
import { WalletToolsService } from '../tools/wallet-tools.service.js';
import { CurrentSession, WalletAccess, WalletAuthGuard } from './wallet-auth.guard.js';
import { WalletBody } from './wallet-body.service.js';
import { WalletErrorFilter } from './wallet-error.filter.js';

type Answer = Readonly<Record<string, unknown>>;

/** The files of whoever bears the token. Names are in bodies: what is in a URL ends in logs. */
@Controller('v1/wallets/me/files')
@UseFilters(WalletErrorFilter)
@UseGuards(WalletAuthGuard)
@WalletAccess('session')
export class FilesV1Controller {
  constructor(
    private readonly bodies: WalletBody,
    private readonly walletTools: WalletToolsService,
  ) {}

  @Post('put')
  @HttpCode(200)
  put(@CurrentSession() session: Session, @Req() request: Request): Promise<Answer> {
    return this.#answer(session, request, FilePutInput, (files, asked) => files.put(asked));
  }

  @Post('upload-address')
  @HttpCode(200)
  uploadAddress(@CurrentSession() session: Session, @Req() request: Request): Promise<Answer> {
    return this.#answer(session, request, FileUploadInput, (files, asked) =>
      files.uploadAddress(asked),
    );
  }

  @Post('get')
  @HttpCode(200)
  get(@CurrentSession() session: Session, @Req() request: Request): Promise<Answer> {
    return this.#answer(session, request, FileNameInput, (files, asked) => files.get(asked));
  }

  @Post('list')
  @HttpCode(200)
  list(@CurrentSession() session: Session, @Req() request: Request): Promise<Answer> {
    return this.#answer(session, request, FileListInput, (files, asked) => files.list(asked));
  }

  @Post('share')
  @HttpCode(200)
  share(@CurrentSession() session: Session, @Req() request: Request): Promise<Answer> {
    return this.#answer(session, request, FileShareInput, (files, asked) => files.share(asked));
  }

  @Post('unshare')
  @HttpCode(200)
  unshare(@CurrentSession() session: Session, @Req() request: Request): Promise<Answer> {
    return this.#answer(session, request, FileUnshareInput, (files, asked) => files.unshare(asked));
  }

  @Post('delete')
  @HttpCode(200)
  remove(@CurrentSession() session: Session, @Req() request: Request): Promise<Answer> {
    return this.#answer(session, request, FileNameInput, (files, asked) => files.remove(asked));
  }

  async #answer<T>(
    session: Session,
    request: Request,
    schema: z.ZodType<T>,
    work: (files: FileTools, asked: T) => Promise<Answer>,
  ): Promise<Answer> {
    const asked = await this.bodies.of(request, schema);
    return work(this.walletTools.of(session).files, asked);
  }
}
