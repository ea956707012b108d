import { Injectable, NotFoundException, type PipeTransform } from '@nestjs/common';

export const NO_SUCH_WEBHOOK = 'This API key has no webhook or delivery with that id.';

/** See `rows.ts`. */
const NAME = /^w[es]_[A-Za-z0-9_-]{1,64}$/;

/** A path parameter that names a webhook or a secret. Another text is not looked up: PostgreSQL fails on a zero byte. */
@Injectable()
export class WebhookIdPipe implements PipeTransform<string, string> {
  transform(id: string): string {
    if (!NAME.test(id)) throw new NotFoundException(NO_SUCH_WEBHOOK);
    return id;
  }
}
