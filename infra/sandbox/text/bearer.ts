import type { FastifyRequest } from 'fastify'
import { isLetIn, type TextWire } from '../calls/run.ts'
import type { SandboxOptions } from '../options.ts'
import { type TextErrors, textMessage, TextRefusal } from './errors.ts'

/** The bearer credential of a request. @throws TextRefusal */
function credentialOf(options: SandboxOptions, request: FastifyRequest): string {
  const key = /^Bearer\s+(\S+)$/i.exec(request.headers.authorization ?? '')?.[1]
  if (key === undefined) {
    const why =
      "You didn't provide an API key. You need to provide your API key in an Authorization header using Bearer auth (i.e. Authorization: Bearer YOUR_KEY)."
    throw new TextRefusal('invalid_api_key', why)
  }
  if (!isLetIn(options.apiKeys, key)) {
    throw new TextRefusal('invalid_api_key', textMessage('invalid_api_key'))
  }
  return key
}

/** The wire manners chat and responses share. */
export function bearerWire(family: string, options: SandboxOptions, errors: TextErrors): TextWire {
  return {
    family,
    credential: (request) => credentialOf(options, request),
    refused: (error) => errors.refused(error),
    refusal: (code, faults) => errors.refusal(code, faults),
    failure: (status, faults) => errors.failure(status, faults),
  }
}
