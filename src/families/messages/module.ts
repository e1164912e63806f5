import { createKeptIds } from '../text/calls/kept-ids.ts'
import { textSandbox, textSettings } from '../text/settings.ts'
import { textRules } from '../text/rules/rules.ts'
import { createCountPlaces } from '../text/calls/counts.ts'
import { createTextProvider } from '../text/upstream/client.ts'
import { createTokenCounter } from '../text/upstream/counts.ts'
import type { FamilyModule } from '../module.ts'
import { messagesRules } from './rules/wire.ts'
import { type MessagesSettings, messagesChannel } from './settings.ts'
import { messagesMount, messagesSurfaces } from './surface/routes.ts'
import { messagesWire } from './upstream/wire.ts'

const account = textSandbox('messages', '/messages/v1')
/** The shipped price book has prices of these for two of its models. */
const settings: MessagesSettings = {
  ...textSettings(account),
  serviceTiers: ['fast'],
  longPromptTokens: { 'text-cache': 100_000 },
}

/** Messages. */
export const messages: FamilyModule = {
  rules: {
    name: messagesRules.name,
    calls: textRules(messagesRules),
    endpoints: () => ['/v1/messages'],
  },
  channel: messagesChannel,
  sandbox: [{ ...account, settings }],
  mounts: [messagesMount],
  open: ({ markerSecret, clock }) => {
    const keptIds = createKeptIds(markerSecret)
    const provider = createTextProvider(messagesWire)
    const counter = createTokenCounter(messagesWire)
    const upstream = {
      wire: messagesRules,
      provider,
      keptIds,
      counter,
      places: createCountPlaces(),
    }
    return {
      surfaces: messagesSurfaces(upstream, clock),
      close: async () => void (await Promise.all([provider.close(), counter.close()])),
    }
  },
}
