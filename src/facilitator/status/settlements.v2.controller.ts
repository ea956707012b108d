import {
  Controller,
  Get,
  HttpStatus,
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
import { callerOf, RateLimited } from '../../platform/http/access.js';
import { Answer, HttpRefusal } from '../../platform/http/answer.js';
import { ClientAddresses } from '../../platform/http/client-address.js';
import { invalidQuery } from '../../platform/http/coded-error.js';
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
import { SIMULATED, simulationAsked } from '../simulation/simulation-request.js';
import { SEARCH_USAGE, SettlementQueryDto, SettlementWaitDto } from './dto/settlement-query.dto.js';
import { ListedPayees } from './listed-payees.js';
import { SettlementWaits } from './settlement-waits.js';
import { authorizationIdsOf, type ChainUse, StatusService } from './status.service.js';

interface Found {
  readonly settlements: readonly (SettlementStatus | ChainUse)[];
}

/**
 * Look-ups of settlements. Public: an answer says whether a payment was made, and never sells it.
 */
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
  ): Promise<Answer<SettlementStatus> | undefined> {
    const connection = connectionOf(response);
    const { status, isTurnedAway } = await this.waits.lookUp({
      id,
      seconds,
      connection,
      client: callerOf(request) ?? addressGroup(this.addresses.of(request)),
    });
    if (!connection.isWritable) return undefined;
    if (status === undefined) throw new NotFoundException(NO_SUCH_SETTLEMENT);
    return new Answer(status, {
      ...(isSimulatedId(id) && SIMULATED),
      ...(isTurnedAway && { 'Retry-After': 1 }),
    });
  }

  @Get()
  @DescribesSettlements()
  async search(
    @Query() query: SettlementQueryDto,
    @ListedPayees() payees: ReadonlySet<Address> | undefined,
    @Req() request: Request,
  ): Promise<unknown> {
    if (payees !== undefined) return this.listing.page(query, payees);
    if (query.paymentId !== undefined) {
      const settlements = await this.#byLabel(query.paymentId, query, callerOf(request));
      if (settlements.length === 0) throw new NotFoundException(NO_SUCH_SETTLEMENT);
      return { settlements };
    }
    if (query.transaction !== undefined) {
      const hash = query.transaction.toLowerCase() as Hex;
      return this.#byTransaction(hash);
    }
    const { network, nonce } = query;
    const chainId = chainIdOf(network ?? '');
    const [asset, payer]: (Address | undefined)[] = [
      readAddress(query.asset),
      readAddress(query.payer),
    ];
    if (chainId === undefined || !asset || !payer || nonce === undefined) {
      throw invalidQuery(SEARCH_USAGE);
    }
    const authorization = { chainId, asset, payer, nonce: BigInt(nonce) };
    const asked = simulationAsked(request);
    if (asked !== undefined) {
      const ids = authorizationIdsOf(authorization);
      const played = await this.simulated.byAuthorization(asked.caller, asked.outcome, ids);
      if (played === undefined) throw new NotFoundException(NO_SUCH_SETTLEMENT);
      return new Answer(played, SIMULATED);
    }
    const status = await this.status.byAuthorization(authorization);
    const isKnown = status.source !== 'chain' || status.used;
    return isKnown ? status : new Answer(status, {}, HttpStatus.NOT_FOUND);
  }

  /** The hash itself says whether it is one of a transaction that never was. */
  async #byTransaction(hash: Hex): Promise<Answer<Found>> {
    const id = simulatedIdOfHash(hash);
    const headers = id === undefined ? {} : SIMULATED;
    const settlements = await (id === undefined ? this.#carriedBy(hash) : this.#playedAs(id));
    if (settlements.length === 0) {
      throw new HttpRefusal(NO_SUCH_SETTLEMENT, HttpStatus.NOT_FOUND, headers);
    }
    return new Answer({ settlements }, headers);
  }

  async #carriedBy(hash: Hex): Promise<Found['settlements']> {
    const carried = await this.status.byTransaction(hash);
    return carried.length > 0 ? carried : this.status.usesIn(hash);
  }

  async #playedAs(id: string): Promise<Found['settlements']> {
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
      throw invalidQuery('Without an API key, paymentId needs payTo and payer.');
    }
    const scope = keyScope(caller, { payTo: payTo ?? '', payer: payer ?? '' });
    return this.status.byLabel(labelTagOf(label, scope));
  }
}
