import type { FastifyRequest } from 'fastify'
import { isLetIn, type TextWire } from '../calls/run.ts'
import type { FamilyKit } from '../family.ts'
import {
  INVALID_KEY,
  nativeErrorAnswer,
  nativeFailure,
  NativeRefusal,
  nativeRefused,
} from './errors.ts'

/** What the path and the query ask for. */
export interface Target {
  readonly model: string
  readonly method: string
  /** Frames of server-sent events; otherwise a stream is one JSON array. */
  readonly events: boolean
}

/** Reads `models/{model}:{method}`. */
export function targetOf(request: FastifyRequest): Target {
  const { target } = request.params as { readonly target: string }
  const colon = target.lastIndexOf(':')
  const events = new URL(request.url, 'http://sandbox').searchParams.get('alt') === 'sse'
  if (colon < 0) return { model: target, method: '', events }
  return { model: target.slice(0, colon), method: target.slice(colon + 1), events }
}

/** How a family of this upstream is called and tells errors: by its key, in its envelope. */
export function keyedWire(family: string, kit: FamilyKit): TextWire {
  return {
    family,
    credential: (request) => {
      const key = request.headers['x-goog-api-key']
      if (typeof key !== 'string' || key === '') {
        throw new NativeRefusal(
          'PERMISSION_DENIED',
          "Method doesn't allow unregistered callers (callers without established identity). Please use API Key or other form of API consumer identity to call this API.",
        )
      }
      if (!isLetIn(kit.options.apiKeys, key)) throw INVALID_KEY
      return key
    },
    refused: nativeRefused,
    refusal: (code, faults) => nativeErrorAnswer(code, faults),
    failure: nativeFailure,
  }
}
