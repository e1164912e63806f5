import { timingSafeEqual } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { NO_FAULTS, UnknownSwitch, type Faults } from '../faults/vocabulary.ts'
import { runExchange, type Answer, type Exchange, type ExchangeKit } from './exchange.ts'

/** A refusal: a code of the wire, which decides the HTTP status. */
export class Refusal extends Error {
  readonly code: string
  /** The member that is meant, where the wire names one. */
  readonly param: string | null
  readonly details: readonly object[]

  constructor(code: string, message: string, param: string | null = null, details = NO_DETAILS) {
    super(message)
    this.code = code
    this.param = param
    this.details = details
  }
}

const NO_DETAILS: readonly object[] = []

/** How one wire reads credentials and answers errors. */
export interface Wire {
  readonly family: string
  /** The credential of a request. @throws Refusal if it is missing or not accepted */
  readonly credential: (request: FastifyRequest) => string
  /** The answer for something thrown, or null when it is no refusal. */
  readonly refused: (error: unknown) => Answer | null
  readonly refusal: (code: string, faults: Faults) => Answer
  readonly failure: (status: number, faults: Faults) => Answer
}

/** What differs from wire to wire. */
interface WireRules {
  readonly family: string
  /** The credential of a request. */
  readonly keyOf: (request: FastifyRequest) => string | undefined
  /** The refusal of a credential that is not let in, or, where `isGiven` is false, missing. */
  readonly denied: (isGiven: boolean) => Refusal
  /** The refusal of a switch that does not exist. */
  readonly unknownSwitch: (message: string) => Refusal
  /** The text that goes with a code where nothing more is known. */
  readonly messageOf: (code: string) => string
  readonly answer: (refusal: Refusal, faults: Faults) => Answer
  /** The code of a bare status that the service itself answers; a proxy answers the others. */
  readonly codeOfStatus: Readonly<Record<number, string>>
}

/** Makes a wire from its rules; it accepts the keys of `apiKeys`, or any key if there are none. */
export function wireOf(rules: WireRules, apiKeys: readonly string[]): Wire {
  const { family, codeOfStatus, answer } = rules
  const refusal = (code: string, faults: Faults): Answer =>
    answer(new Refusal(code, rules.messageOf(code)), faults)
  return {
    family,
    refusal,
    credential: (request) => {
      const key = rules.keyOf(request)
      if (key === undefined || !isLetIn(apiKeys, key)) throw rules.denied(key !== undefined)
      return key
    },
    refused: (error) => {
      if (error instanceof Refusal) return answer(error, NO_FAULTS)
      return error instanceof UnknownSwitch
        ? answer(rules.unknownSwitch(error.message), NO_FAULTS)
        : null
    },
    failure: (status, faults) => {
      const code = codeOfStatus[status]
      return code === undefined ? proxyPage(status) : refusal(code, faults)
    },
  }
}

function isLetIn(known: readonly string[], key: string): boolean {
  if (known.length === 0) return true
  const given = Buffer.from(key)
  return known.some((one) => {
    const wanted = Buffer.from(one)
    return wanted.length === given.length && timingSafeEqual(wanted, given)
  })
}

/** The bearer credential of a request. */
export function bearerKey(request: FastifyRequest): string | undefined {
  return /^Bearer\s+(\S+)$/i.exec(request.headers.authorization ?? '')?.[1]
}

/** The answer of a proxy in front of the service. */
export function proxyPage(status: number): Answer {
  return {
    status: status >= 200 && status <= 599 ? status : 500,
    body: `<html><head><title>${status}</title></head><body><h1>${status}</h1></body></html>\n`,
    headers: { 'content-type': 'text/html' },
  }
}

/** Runs a request with its faults; a refusal becomes an answer of the wire. */
export async function runOnWire(
  kit: ExchangeKit,
  wire: Omit<Wire, 'credential'>,
  call: Pick<Exchange, 'op' | 'subject' | 'promptFaults'> & {
    readonly perform: (faults: Faults) => ReturnType<Exchange['perform']> | Answer
  },
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { family, refusal, failure } = wire
  const perform: Exchange['perform'] = async (faults) => {
    try {
      return await call.perform(faults)
    } catch (error) {
      const answer = wire.refused(error)
      if (answer === null) throw error
      return answer
    }
  }
  await runExchange(kit, { ...call, family, refusal, failure, perform }, request, reply)
  return reply
}

export function queryOf(request: FastifyRequest): URLSearchParams {
  return new URL(request.url, 'http://sandbox').searchParams
}

/** `:id` of a path; empty where it has none. */
export function idInPath(request: FastifyRequest): string {
  return (request.params as { readonly id?: string }).id ?? ''
}
