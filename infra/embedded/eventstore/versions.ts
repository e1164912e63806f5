/**
 * What the server generations do differently, as seen on EventStoreDB 23.10.6 and 24.10.3 and on
 * KurrentDB 25.0.0, and as their `Enumerator.AllSubscriptionFiltered` reads.
 */

export const SERVER_VERSIONS = ['23.10', '24.10', '25.0'] as const

/** The generation of server that is stood in for. */
export type ServerVersion = (typeof SERVER_VERSIONS)[number]

/**
 * The newest asks most of a client whose mistakes cost money: its checkpoints run ahead of the log
 * (`L/0` before the event at `L/L` exists), so whoever keeps half a position loses an event, and
 * `caughtUp` comes again after every burst. The subscription that 23.10 ends, and the checkpoint
 * 2^64-1 of 24.10, were faults since mended; they are there to be asked for.
 */
export const DEFAULT_SERVER_VERSION: ServerVersion = '25.0'

/** Where the generations differ. */
export interface Behaviour {
  /** What `GetSupportedMethods` reports. */
  readonly reportedVersion: string
  /**
   * The checkpoint a filtered subscription is told on going live: none; where it stands, told again
   * (2^64-1 while it stands nowhere); or that, raised to the start of the last page.
   */
  readonly checkpointOnGoingLive: 'none' | 'repeated' | 'raised'
  /** Whether the event a subscription starts behind counts as the first considered one. */
  readonly considersStart: boolean
  /** What becomes of a live subscription whose buffer overflows. */
  readonly onLiveOverflow: 'ended' | 'catches_up'
  /** Whether a subscription to a stream nobody has written to says that it has caught up. */
  readonly followsMissingStream: boolean
}

const BEHAVIOURS: Readonly<Record<ServerVersion, Behaviour>> = {
  '23.10': {
    reportedVersion: '23.10.6-embedded',
    checkpointOnGoingLive: 'none',
    considersStart: false,
    onLiveOverflow: 'ended',
    followsMissingStream: false,
  },
  '24.10': {
    reportedVersion: '24.10.3-embedded',
    checkpointOnGoingLive: 'repeated',
    considersStart: true,
    onLiveOverflow: 'catches_up',
    followsMissingStream: true,
  },
  '25.0': {
    reportedVersion: '25.0.0-embedded',
    checkpointOnGoingLive: 'raised',
    considersStart: true,
    onLiveOverflow: 'catches_up',
    followsMissingStream: true,
  },
}

export function behaviourOf(version: ServerVersion): Behaviour {
  return BEHAVIOURS[version]
}

/** @throws {TypeError} for a version that is not stood in for */
export function parseServerVersion(text: string): ServerVersion {
  const version = SERVER_VERSIONS.find((known) => known === text)
  if (version === undefined) {
    throw new TypeError(`--server-version must be one of ${SERVER_VERSIONS.join(', ')}`)
  }
  return version
}
