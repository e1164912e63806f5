import { bearerKey, type TextWire } from '../calls/run.ts'
import type { FamilyKit } from '../family.ts'
import type { Answer } from '../http/exchange.ts'
import { randomHex } from '../kit/random.ts'
import { failureAnswer, refusalAnswer, refusedAnswer, SpeechRefusal } from './errors.ts'
import { bare } from './int64.ts'

const SUCCESS = { status_code: 0, status_msg: 'success' }

/** How speech, its files and its voices read credentials and tell errors. */
export function speechWire(kit: FamilyKit, family: string): TextWire {
  const traceId = (): string => randomHex(kit.random, 32)
  return {
    family,
    credential: (request) => {
      const key = bearerKey(kit.options.apiKeys, request)
      if (key === null) throw new SpeechRefusal(1004)
      return key
    },
    refused: (error) => refusedAnswer(error, traceId()),
    refusal: (code) => refusalAnswer(Number(code), traceId()),
    failure: (status) => failureAnswer(status, traceId()),
  }
}

/** An answer that went well. */
export function succeeded(kit: FamilyKit, body: object): Answer {
  return {
    status: 200,
    headers: {
      'trace-id': randomHex(kit.random, 32),
      'content-type': 'application/json; charset=utf-8',
    },
    body: bare({ ...body, base_resp: SUCCESS }),
  }
}
