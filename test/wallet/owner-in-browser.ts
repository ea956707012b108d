import type { Hex } from 'viem';
import type { PrivateKeyAccount } from 'viem/accounts';
import { Browser, type PageTransaction } from '../support/browser.js';

/** An owner at a real browser with a wallet in it (EIP-1193), who uses the pages as people do. */
export class OwnerInBrowser {
  private constructor(
    readonly browser: Browser,
    readonly owner: PrivateKeyAccount,
  ) {}

  /** @param send - sends transactions of the owner. */
  static async start(
    owner: PrivateKeyAccount,
    send?: (transaction: PageTransaction) => Promise<Hex>,
  ): Promise<OwnerInBrowser> {
    const browser = await Browser.start(1200, 900);
    await browser.provideWallet(owner, send);
    return new OwnerInBrowser(browser, owner);
  }

  stop(): Promise<void> {
    return this.browser.stop();
  }

  open(url: string | URL): Promise<void> {
    return this.browser.open(String(url));
  }

  async click(id: string): Promise<void> {
    await this.browser.until(`document.getElementById('${id}')?.checkVisibility() === true`);
    await this.browser.evaluate(`document.getElementById('${id}').click()`);
  }

  /** The first of two clicks: asks for what is to be signed. @returns the message on the page. */
  async readMessage(): Promise<string> {
    await this.click('connect');
    await this.untilShown('message');
    return String(await this.browser.evaluate(`document.getElementById('message').innerText`));
  }

  /** The second click: signs it in the browser's wallet, and sends it. */
  async sign(): Promise<void> {
    await this.click('sign');
  }

  /** Signs in at `/wallet`. */
  async signIn(url: string): Promise<void> {
    await this.open(`${url}/wallet`);
    await this.readMessage();
    await this.sign();
    await this.untilShown('wallet');
  }

  untilShown(id: string): Promise<void> {
    return this.browser.until(`document.getElementById('${id}')?.checkVisibility() === true`);
  }

  /** The lines of a table of the page, cells joined by bars. */
  async rows(id: string): Promise<readonly string[]> {
    const lines = `[...document.querySelectorAll('#${id} tbody tr')]`;
    const cells = `[...line.cells].map((cell) => cell.textContent.trim()).join(' | ')`;
    return (await this.browser.evaluate(`${lines}.map((line) => ${cells})`)) as string[];
  }

  /** Ends whom a line of the page is about. */
  async end(text: string): Promise<void> {
    const lines = `[...document.querySelectorAll('#access tbody tr')]`;
    const line = `${lines}.find((one) => one.textContent.includes(${JSON.stringify(text)}))`;
    await this.browser.evaluate(`${line}.querySelector('button').click()`);
    await this.untilSaid('Access revoked, with the links to files that it made.');
  }

  untilSaid(text: string): Promise<void> {
    const said = `document.getElementById('outcome')?.textContent.trim()`;
    return this.browser.until(`${said} === ${JSON.stringify(text)}`);
  }
}
