import { Body, Controller, HttpCode, Post, UseFilters, UseGuards } from '@nestjs/common';
import type { z } from 'zod';
import { DescribesFile, NAMED } from '../openapi/files.openapi.js';
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

/** The files of the token's wallet. Names are in bodies, because URLs end up in logs. */
@Controller('v1/wallets/me/files')
@UseFilters(WalletErrorFilter)
@UseGuards(WalletAuthGuard)
@WalletAccess('session')
export class FilesV1Controller {
  constructor(private readonly walletTools: WalletToolsService) {}

  @Post('put')
  @HttpCode(200)
  @DescribesFile(
    'walletPutFile',
    'Stores a file that fits in a message.',
    ['WalletFilePut', { ...NAMED, content: '# Report' }],
    'WalletFile',
  )
  put(
    @CurrentSession() session: Session,
    @Body(new ZodPipe(FilePutInput)) asked: z.infer<typeof FilePutInput>,
  ): Promise<Answer> {
    return this.walletTools.of(session).files.put(asked);
  }

  @Post('upload-address')
  @HttpCode(200)
  @DescribesFile(
    'walletUploadAddress',
    'Makes an address for the upload of one file by PUT.',
    [
      'WalletFileUpload',
      {
        name: 'film.mp4',
        maxBytes: 50_000_000,
        contentType: 'video/mp4',
      },
    ],
    'WalletUploadAddress',
  )
  uploadAddress(
    @CurrentSession() session: Session,
    @Body(new ZodPipe(FileUploadInput)) asked: z.infer<typeof FileUploadInput>,
  ): Promise<Answer> {
    return this.walletTools.of(session).files.uploadAddress(asked);
  }

  @Post('get')
  @HttpCode(200)
  @DescribesFile(
    'walletGetFile',
    'A file, with its content if it is short.',
    ['WalletFileName', NAMED],
    'WalletFileContent',
  )
  get(
    @CurrentSession() session: Session,
    @Body(new ZodPipe(FileNameInput)) asked: z.infer<typeof FileNameInput>,
  ): Promise<Answer> {
    return this.walletTools.of(session).files.get(asked);
  }

  @Post('list')
  @HttpCode(200)
  @DescribesFile(
    'walletListFiles',
    'The files, newest first.',
    ['WalletFileQuery', { limit: 20 }],
    'WalletFiles',
  )
  list(
    @CurrentSession() session: Session,
    @Body(new ZodPipe(FileListInput)) asked: z.infer<typeof FileListInput>,
  ): Promise<Answer> {
    return this.walletTools.of(session).files.list(asked);
  }

  @Post('share')
  @HttpCode(200)
  @DescribesFile(
    'walletShareFile',
    'Makes a link with which others can read a file.',
    ['WalletFileShare', { ...NAMED, seconds: 3600, once: true }],
    'WalletSharedFile',
  )
  share(
    @CurrentSession() session: Session,
    @Body(new ZodPipe(FileShareInput)) asked: z.infer<typeof FileShareInput>,
  ): Promise<Answer> {
    return this.walletTools.of(session).files.share(asked);
  }

  @Post('unshare')
  @HttpCode(200)
  @DescribesFile(
    'walletUnshareFile',
    'Revokes a link, or all links.',
    ['WalletFileUnshare', { link: 'all' }],
    'WalletTakenBack',
  )
  unshare(
    @CurrentSession() session: Session,
    @Body(new ZodPipe(FileUnshareInput)) asked: z.infer<typeof FileUnshareInput>,
  ): Promise<Answer> {
    return this.walletTools.of(session).files.unshare(asked);
  }

  @Post('delete')
  @HttpCode(200)
  @DescribesFile(
    'walletDeleteFile',
    'Deletes a file.',
    ['WalletFileName', NAMED],
    'WalletDeletedFile',
  )
  remove(
    @CurrentSession() session: Session,
    @Body(new ZodPipe(FileNameInput)) asked: z.infer<typeof FileNameInput>,
  ): Promise<Answer> {
    return this.walletTools.of(session).files.remove(asked);
  }
}
