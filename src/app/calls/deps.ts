import type { TextFamily } from '../../domain/families/text/models.ts'
import type { Journal } from '../../eventlog/journal/journal.ts'
import type { EventLog } from '../../eventlog/log/types.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { Log } from '../../kernel/log.ts'
import type { ChannelDirectory } from '../channels/directory.ts'
import type { CrashPoint } from '../crash-points.ts'
import type { Rates } from '../throttle/rates.ts'
import type { TextProvider } from '../ports.ts'
import type { PriceBookSource } from '../pricing/price-book.ts'
import type { Funds } from '../spending/funds.ts'
import type { KeptIds } from './text/kept-ids.ts'
import type { CallLimits } from './limits.ts'
import type { CallMetrics } from './metrics.ts'

/** What the text use cases are made of. */
export interface CallDeps {
  /** Only asked whether it takes work; writing goes through the journal. */
  readonly log: Pick<EventLog, 'healthy' | 'ready'>
  readonly journal: Journal
  readonly channels: ChannelDirectory
  readonly providers: ReadonlyMap<TextFamily, TextProvider>
  readonly prices: PriceBookSource
  readonly funds: Funds
  readonly keptIds: KeptIds
  readonly rates: Rates
  readonly metrics: CallMetrics
  readonly clock: Clock
  readonly logger: Log
  readonly crashPoint: CrashPoint
  readonly limits: CallLimits
}
