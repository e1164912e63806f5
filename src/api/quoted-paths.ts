import type { QuotedPath } from './kit/quoted-path.ts'
import { provAQuotedPaths } from './prov-a/quote.ts'
import { provBV1QuotedPaths } from './prov-b/v1/quote.ts'
import { provBV2QuotedPaths } from './prov-b/v2/quote.ts'
import { provCQuotedPaths } from './prov-c/quote.ts'
import { v1QuotedPaths } from './v1/quote/paths.ts'
import { v1betaQuotedPaths } from './v1beta/quote.ts'

type Deps = Parameters<typeof v1QuotedPaths>[0] &
  Parameters<typeof v1betaQuotedPaths>[0] &
  Parameters<typeof provAQuotedPaths>[0] &
  Parameters<typeof provBV1QuotedPaths>[0] &
  Parameters<typeof provBV2QuotedPaths>[0] &
  Parameters<typeof provCQuotedPaths>[0]

/** Every creation that can be priced without being made: a further surface is a line here. */
export function quotedPaths(deps: Deps): readonly QuotedPath[] {
  return [
    ...v1QuotedPaths(deps),
    ...v1betaQuotedPaths(deps),
    ...provAQuotedPaths(deps),
    ...provBV2QuotedPaths(deps),
    ...provBV1QuotedPaths(deps),
    ...provCQuotedPaths(deps),
  ]
}
