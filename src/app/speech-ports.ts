/** A voice a tenant cloned, as upstream knows it. */
export interface ClonedVoice {
  readonly upstreamId: string
  /** The only account that has it. */
  readonly channelId: string
}

/** The voice a tenant has cloned under its own name for it; undefined where there is none. */
export type FindVoice = (tenantId: string, name: string) => Promise<ClonedVoice | undefined>
