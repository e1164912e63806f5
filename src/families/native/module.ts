import { createKeptIds } from '../text/calls/kept-ids.ts'
import { textChannel, textSandbox } from '../text/settings.ts'
import { textRules } from '../text/rules/rules.ts'
import { createCountPlaces } from '../text/calls/counts.ts'
import { createTextProvider } from '../text/upstream/client.ts'
import { createTokenCounter } from '../text/upstream/counts.ts'
import type { FamilyModule } from '../module.ts'
import { nativeRules } from './rules/wire.ts'
import { nativeMounts, nativeSurfaces } from './surface/routes.ts'
import { nativeWire } from './upstream/wire.ts'

/** Native content generation. */
export const native: FamilyModule = {
  rules: {
    name: nativeRules.name,
    calls: textRules(nativeRules),
    endpoints: () => ['/v1beta/models/{model}:generateContent'],
  },
  channel: textChannel,
  sandbox: [textSandbox('native', '/v1beta')],
  mounts: nativeMounts,
  open: ({ markerSecret }) => {
    const keptIds = createKeptIds(markerSecret)
    const provider = createTextProvider(nativeWire)
    const counter = createTokenCounter(nativeWire)
    const upstream = { wire: nativeRules, provider, keptIds, counter, places: createCountPlaces() }
    return {
      surfaces: nativeSurfaces(upstream),
      close: async () => void (await Promise.all([provider.close(), counter.close()])),
    }
  },
}
