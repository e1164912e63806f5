import type { FamilyKit } from '../family.ts'
import { type Faults, isOn } from '../faults/vocabulary.ts'
import type { Answer } from '../http/exchange.ts'
import { randomHex } from '../kit/random.ts'
import { SERVICE } from './key.ts'

/** The one version of the interface there is. */
export const VERSION = '2024-01-01'

/** By prefix of the dotted code; whatever is not listed is a 400. */
const STATUSES: Readonly<Record<string, number>> = {
  InvalidAccessKey: 401,
  SignatureDoesNotMatch: 401,
  InvalidSecretToken: 401,
  AccessDenied: 403,
  InvalidAction: 403,
  ServiceNotFound: 404,
  InvalidActionOrVersion: 404,
  ResourceNotFound: 404,
  NotFound: 404,
  FlowLimitExceeded: 429,
  InternalError: 500,
  InternalServiceError: 500,
  ServiceUnavailableTemp: 503,
  InternalServiceTimeout: 504,
}

const CODE_OF_STATUS: Readonly<Record<number, string>> = {
  400: 'InvalidParameter',
  401: 'SignatureDoesNotMatch',
  403: 'AccessDenied',
  404: 'InvalidActionOrVersion',
  429: 'FlowLimitExceeded',
  500: 'InternalError',
}

/** `YYYYMMDDhhmmss` in UTC, as ids of this upstream begin. */
export function stampOf(atMs: number): string {
  return new Date(atMs).toISOString().slice(0, 19).replace(/[-:T]/g, '')
}

/** How one request is answered: what it asked for is said in every envelope. */
export class Envelope {
  readonly #kit: Pick<FamilyKit, 'random' | 'clock'>
  readonly #named: { readonly action: string; readonly version: string; readonly region: string }

  constructor(
    kit: Pick<FamilyKit, 'random' | 'clock'>,
    named: { readonly action: string; readonly version: string; readonly region: string },
  ) {
    this.#kit = kit
    this.#named = named
  }

  success(result: object): Answer {
    return { status: 200, body: { ResponseMetadata: this.#metadata(), Result: result } }
  }

  /** An error with its own status, or, under `envelope-200`, with the one of a success. */
  error(code: string, message: string, faults: Faults): Answer {
    const usual = STATUSES[code.split('.')[0] ?? ''] ?? 400
    const error = { Code: code, Message: message, CodeN: 0 }
    return {
      status: isOn(faults, 'envelope-200') ? 200 : usual,
      body: { ResponseMetadata: { ...this.#metadata(), Error: error } },
    }
  }

  /** A bare status: the envelope where the service itself speaks, else a proxy's page. */
  failure(status: number, faults: Faults): Answer {
    const code = CODE_OF_STATUS[status]
    if (code !== undefined) return this.error(code, `The request failed: ${code}.`, faults)
    return {
      status: status >= 200 && status <= 599 ? status : 500,
      body: `<html><head><title>${status}</title></head><body><h1>${status}</h1></body></html>\n`,
      headers: { 'content-type': 'text/html' },
    }
  }

  #metadata(): object {
    const { action, version, region } = this.#named
    const { random, clock } = this.#kit
    return {
      RequestId: `${stampOf(clock.nowMs())}${randomHex(random, 16).toUpperCase()}`,
      Action: action,
      Version: version,
      Service: SERVICE,
      Region: region,
    }
  }
}
