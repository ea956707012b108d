import {
  BadRequestException,
  Controller,
  Get,
  Inject,
  NotFoundException,
  Param,
  Query,
  Req,
  Res,
  UseFilters,
} from '@nestjs/common';
import type { Request, Response } from 'express';
import type { Address, Hex } from 'viem';
import { callerOf, payeesOf, RateLimited } from '../../platform/http/access.js';
import { ClientAddresses } from '../../platform/http/client-address.js';
import { NO_SUCH_SETTLEMENT, SettlementIdPipe } from '../../platform/http/settlement-id.pipe.js';
import { LookUpErrorFilter } from '../../platform/http/unavailable.filter.js';
import { addressGroup } from '../../platform/rate-limit/address-group.js';
import { chainIdOf } from '../../protocol/payment/network.js';
import { readAddress } from '../../protocol/payment/wire-values.js';
import {
  SETTLEMENT_LISTING,
  type SettlementListing,
} from '../../settlement/ledger/queries/settlement-listing.js';
import type { SettlementStatus } from '../../settlement/ledger/queries/settlement-status.js';
import { DescribesSettlement, DescribesSettlements } from '../openapi/look-ups.openapi.js';
import { keyScope, labelTagOf } from '../settle/settle-context.js';
import { connectionOf } from '../settle-response.js';
import { isSimulatedId, simulatedIdOfHash } from '../simulation/outcomes.js';
import { SimulatedSettles } from '../simulation/simulated-settles.js';
import { markSimulated, simulationAsked } from '../simulation/simulation-request.js';
import { SEARCH_USAGE, SettlementQueryDto, SettlementWaitDto } from './dto/settlement-query.dto.js';
import { SettlementWaits } from './settlement-waits.js';
import { authorizationIdsOf, type ChainUse, StatusService } from './status.service.js';

/** What became of a settlement. Public: it says whether a payment landed, and never "success". */
@Controller('v2/settlements')
@RateLimited('lookup')
@UseFilters(LookUpErrorFilter)
export class SettlementsV2Controller {
  constructor(
    private readonly status: StatusService,
    @Inject(SETTLEMENT_LISTING) private readonly listing: SettlementListing,
    private readonly waits: SettlementWaits,
    private readonly addresses: ClientAddresses,
    private readonly simulated: SimulatedSettles,
  ) {}

  /** `?wait=20`: when its state changes, at the latest after so many seconds. */
  @Get(':id')
  @DescribesSettlement()
  async byId(
    @Param('id', SettlementIdPipe) id: string,
    @Query() { wait: seconds }: SettlementWaitDto,
    @Req() request: Request,
    @Res({ passthrough: true }) response: Response,
  ): Promise<SettlementStatus | undefined> {
    const connection = connectionOf(response);
    const { status, isTurnedAway } = await this.waits.lookUp({
      id,
      seconds,
      connection,
      client: callerOf(request) ?? addressGroup(this.addresses.of(request)),
    });
    if (!connection.isWritable) return undefined;
    if (status === undefined) throw new NotFoundException(NO_SUCH_SETTLEMENT);
    if (isSimulatedId(id)) markSimulated(response);
    if (isTurnedAway) response.setHeader('Retry-After', 1);
    return status;
  }

  @Get()
  @DescribesSettlements()
  async search(
    @Query() query: SettlementQueryDto,
    @Req() request: Request,
    @Res({ passthrough: true }) response: Response,
  ): Promise<unknown> {
    if (isList(query, callerOf(request))) {
      return this.listing.page(query, payeesOf(request, response));
    }
    if (query.paymentId !== undefined) {
      const settlements = await this.#byLabel(query.paymentId, query, callerOf(request));
      if (settlements.length === 0) throw new NotFoundException(NO_SUCH_SETTLEMENT);
      return { settlements };
    }
    if (query.transaction !== undefined) {
      const hash = query.transaction.toLowerCase() as Hex;
      const settlements = await this.#byTransaction(hash, response);
      if (settlements.length === 0) throw new NotFoundException(NO_SUCH_SETTLEMENT);
      return { settlements };
    }
    const { network, nonce } = query;
    const chainId = chainIdOf(network ?? '');
    const [asset, payer]: (Address | undefined)[] = [
      readAddress(query.asset),
      readAddress(query.payer),
    ];
    if (chainId === undefined || !asset || !payer || nonce === undefined) {
      throw new BadRequestException(SEARCH_USAGE);
    }
    const authorization = { chainId, asset, payer, nonce: BigInt(nonce) };
    const asked = simulationAsked(request);
    if (asked !== undefined) {
      const ids = authorizationIdsOf(authorization);
      const played = await this.simulated.byAuthorization(asked.caller, asked.outcome, ids);
      if (played === undefined) throw new NotFoundException(NO_SUCH_SETTLEMENT);
      markSimulated(response);
      return played;
    }
    const status = await this.status.byAuthorization(authorization);
    const isKnown = status.source !== 'chain' || status.used;
    if (!isKnown) response.status(404);
    return status;
  }

  /** The hash itself says whether it is one of a transaction that never was. */
  async #byTransaction(
    hash: Hex,
    response: Response,
  ): Promise<readonly (SettlementStatus | ChainUse)[]> {
    const id = simulatedIdOfHash(hash);
    if (id === undefined) {
      const carried = await this.status.byTransaction(hash);
      return carried.length > 0 ? carried : this.status.usesIn(hash);
    }
    markSimulated(response);
    const played = await this.simulated.byId(id);
    return played === undefined ? [] : [played];
  }

  /** By a label in the scope it was given in: that of the API key, else of payee and payer. */
  #byLabel(
    label: string,
    query: SettlementQueryDto,
    caller: string | undefined,
  ): Promise<readonly SettlementStatus[]> {
    const [payTo, payer] = [readAddress(query.payTo), readAddress(query.payer)];
    if (caller === undefined && (payTo === undefined || payer === undefined)) {
      throw new BadRequestException('Without an API key a paymentId needs payTo and payer.');
    }
    const scope = keyScope(caller, { payTo: payTo ?? '', payer: payer ?? '' });
    return this.status.byLabel(labelTagOf(label, scope));
  }
}

/** What names no payment is a list, from those who can list, and from those who ask for what only lists have. */
function isList(query: SettlementQueryDto, caller: string | undefined): boolean {
  const { transaction, payer, nonce, paymentId, payTo, from, to, state, sale, limit, cursor } =
    query;
  if ([transaction, payer, nonce, paymentId].some((value) => value !== undefined)) return false;
  const ofLists = [payTo, from, to, state, sale, limit, cursor];
  return caller !== undefined || ofLists.some((value) => value !== undefined);
}
