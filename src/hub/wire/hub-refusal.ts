/**
 * An answer of the hub that is not what was asked for. The original gave all of its own the status 599,
 * whatever they were; `HUB_LEGACY_STATUS` brings that back.
 */
export class HubRefusal extends Error {
  private constructor(
    message: string,
    /** Of the HTTP answer. */
    readonly status: number,
    /** Whether the original would have said 599. */
    readonly wasLegacyStatus: boolean,
    readonly retryAfterSeconds?: number,
  ) {
    super(message);
    this.name = 'HubRefusal';
  }

  /** The request cannot be understood, or says something impossible. */
  static malformed(message: string): HubRefusal {
    return new HubRefusal(message, 400, true);
  }

  static notFound(message: string): HubRefusal {
    return new HubRefusal(message, 404, true);
  }

  /** A request by a link that has expired, is used up or revoked. */
  static gone(message: string): HubRefusal {
    return new HubRefusal(message, 410, false);
  }

  /** Something of the same kind is under way: to be asked again when it has ended. */
  static busy(message: string): HubRefusal {
    return new HubRefusal(message, 409, false, UNAVAILABLE_RETRY_SECONDS);
  }

  /** It contradicts what is stored. */
  static conflict(message: string): HubRefusal {
    return new HubRefusal(message, 409, false);
  }

  /** A feature of the original that this hub does not have. */
  static notOffered(message: string): HubRefusal {
    return new HubRefusal(message, 501, false);
  }

  /** Of a content type that is not taken here. */
  static wrongType(message: string): HubRefusal {
    return new HubRefusal(message, 415, false);
  }

  /**
   * The operator has taken these bytes down (RFC 7725). @param reason - of the operator; every
   * caller sees it.
   */
  static takenDown(reason: string): HubRefusal {
    return new HubRefusal(`taken_down: ${reason}`, 451, false);
  }

  static tooLarge(): HubRefusal {
    return new HubRefusal('http: request body too large', 413, true);
  }

  static unauthorized(message: string): HubRefusal {
    return new HubRefusal(message, 401, false);
  }

  static forbidden(message: string): HubRefusal {
    return new HubRefusal(message, 403, false);
  }

  static tooMany(retryAfterSeconds: number): HubRefusal {
    return new HubRefusal('rate limit exceeded', 429, false, retryAfterSeconds);
  }

  /** The client took too long to send its body. */
  static timedOut(): HubRefusal {
    return new HubRefusal('the body did not arrive in time', 408, false);
  }

  static unavailable(message: string): HubRefusal {
    return new HubRefusal(message, 503, false, UNAVAILABLE_RETRY_SECONDS);
  }
}

const UNAVAILABLE_RETRY_SECONDS = 2;
