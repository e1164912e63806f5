import type { Pool } from 'pg'
import type { EventLog } from '../../eventlog/log/types.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { Log } from '../../kernel/log.ts'
import type { ObjectStore } from '../../storage/types.ts'
import type { CrashPoint } from '../crash-points.ts'
import type { Throttle } from '../spending/throttle/throttle.ts'
import type { UploadQuota } from './uploads/quota.ts'
import type { ReadModels } from '../read-models/read-models.ts'

/** The dependencies of the file use cases. */
export interface FileDeps {
  readonly pool: Pool
  readonly log: EventLog
  /** Undefined: there is no storage. */
  readonly store: ObjectStore | undefined
  readonly readModels: Pick<ReadModels, 'requireCurrent'>
  readonly quota: UploadQuota
  readonly throttle: Pick<Throttle, 'request'>
  readonly clock: Clock
  readonly logger: Log
  readonly crashPoint: CrashPoint
}
