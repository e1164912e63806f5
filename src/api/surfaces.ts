import type { Envelope } from './kit/envelope.ts'
import { operatingEnvelope } from './operating/envelope.ts'
import { isLibraryUrl } from './prov-a/assets/asked.ts'
import { libraryEnvelope } from './prov-a/assets/envelope.ts'
import { provAEnvelope } from './prov-a/envelope.ts'
import { provBV1Envelope } from './prov-b/v1/envelope.ts'
import { provBV2Envelope } from './prov-b/v2/envelope.ts'
import { provCEnvelope } from './prov-c/envelope.ts'
import { queryEnvelope } from './query/envelope.ts'
import { v1Envelope } from './v1/envelope.ts'
import { v1betaEnvelope } from './v1beta/envelope.ts'

/** Prefixes with an error shape of their own, the longest first; anything else is `operating`. */
const envelopes: readonly { readonly prefix: string; readonly envelope: Envelope }[] = [
  { prefix: '/provB/v2', envelope: provBV2Envelope },
  { prefix: '/provB/v1', envelope: provBV1Envelope },
  { prefix: '/provA', envelope: provAEnvelope },
  { prefix: '/provC', envelope: provCEnvelope },
  { prefix: '/api', envelope: queryEnvelope },
  { prefix: '/v1beta', envelope: v1betaEnvelope },
  { prefix: '/v1', envelope: v1Envelope },
]

/** The error shape of a URL, also of one that no route or plugin has seen. */
export function envelopeOf(url: string): Envelope {
  if (isLibraryUrl(url)) return libraryEnvelope(url)
  const found = envelopes.find(
    ({ prefix }) => url.startsWith(prefix) && /^[/?#]|^$/.test(url.slice(prefix.length)),
  )
  return found?.envelope ?? operatingEnvelope
}
