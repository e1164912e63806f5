/**
 * Every bound of the embedded event store, in one place. Sizes are bytes, times milliseconds.
 */

const KIB = 1024
const MIB = 1024 * KIB

/** Largest append, as EventStoreDB's default `MaxAppendSize`; counts data, metadata and type. */
export const MAX_APPEND_BYTES = MIB

/** Largest gRPC message accepted; the real server's, so an oversized event is named as such. */
export const MAX_MESSAGE_BYTES = 17 * MIB

/** Longest stream name and event type; record headers hold 16-bit offsets to both. */
export const MAX_NAME_BYTES = 8 * KIB

/** Most events in one append. */
export const MAX_APPEND_EVENTS = 50_000

/** Appends waiting for the writer, by count and bytes; beyond them RESOURCE_EXHAUSTED. */
export const MAX_QUEUED_APPENDS = 10_000
export const MAX_QUEUED_BYTES = 64 * MIB

/** Maximum that one group commit takes from the queue (the first append always fits). */
export const MAX_GROUP_APPENDS = 1_024
export const MAX_GROUP_BYTES = 4 * MIB

/**
 * Recent event ids for idempotency with `any` and `stream_exists`, at the least: those of some seconds at the highest
 * rates, in which a client repeats what it had no answer to.
 */
export const RECENT_IDS = 10_000

/** Events re-read at start: fills the recent ids and verifies the end of the log. */
export const STARTUP_CHECK_EVENTS = 5_000
export const STARTUP_CHECK_BYTES = 32 * MIB

/** Positions checked at start to be without gap: more than LevelDB's own log can hold back. */
export const STARTUP_CHECK_POSITIONS = 50_000

/** Stream heads kept in memory. */
export const MAX_CACHED_HEADS = 50_000

/** One page of a read or subscription. */
export const PAGE_EVENTS = 512
export const PAGE_BYTES = 512 * KIB

/** The newest records kept in memory for those who follow the log. */
export const MAX_TAIL_BYTES = 4 * MIB

/** Frames are joined into one HTTP/2 write up to this size. */
export const WRITE_BYTES = 64 * KIB

/** Maximum that may wait to be sent to one reader before no more is read for it. */
export const MAX_UNSENT_BYTES = 256 * KIB

/** Messages a live subscription may have waiting before it counts as fallen behind. */
export const MAX_LIVE_MESSAGES = 32

/**
 * Commits that follow each other are announced to live subscriptions together: so long after the last announcement, or
 * once there are so many events that waiting saves no work.
 */
export const GATHER_MS = 10
export const GATHER_EVENTS = 16

/** Matching events that end a page of a filtered subscription; checkpoints stand between pages. */
export const PAGE_MATCHES = 32

/** Concurrent reads and subscriptions; beyond them RESOURCE_EXHAUSTED. */
export const MAX_OPEN_READS = 1_024

/** Concurrent calls on one connection. */
export const MAX_STREAMS_PER_CONNECTION = 2_048

/** Appends one batch stream may have in flight before it is no longer read from. */
export const MAX_BATCH_IN_FLIGHT = 1_024

/** Unfinished multi-message appends of one batch stream. */
export const MAX_BATCH_PARTIAL = 64

/** A batch append without a deadline is given this one, like the real server's write timeout. */
export const DEFAULT_APPEND_DEADLINE_MS = 10_000

/** Longest filter expression and most prefixes. */
export const MAX_FILTER_REGEX_CHARS = 1_024
export const MAX_FILTER_PREFIXES = 1_024

/** Events considered between checkpoints when the subscriber names no window. */
export const DEFAULT_CHECKPOINT_WINDOW = 32

/**
 * After a write error: interval at which the free space is checked, number of attempts, and free
 * space that is needed in addition to that of the files of writes.
 */
export const LOOK_FOR_ROOM_MS = 250
export const TRY_AGAIN_MS = 1_000
export const RECOVERY_SPARE_BYTES = 4 * MIB

/** LevelDB memory: two write buffers at most, one block cache. */
export const DB_WRITE_BUFFER_BYTES = 8 * MIB
export const DB_CACHE_BYTES = 8 * MIB
export const DB_BLOCK_BYTES = 16 * KIB

/**
 * Start: how long the process that holds the log may take to release it, and how often to retry.
 */
export const LOCK_WAIT_MS = 10_000
export const LOCK_RETRY_MS = 50

/** Shutdown: how long open calls may take to end by themselves. */
export const SHUTDOWN_GRACE_MS = 2_000
