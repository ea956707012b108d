/** What a lane tells the process it runs in. */
export interface LaneEvents {
  /** These settlements are finished, or left the lane for good. */
  finished(ids: readonly string[]): void;
  /** What the lane says of itself has changed in a way that others should hear of now. */
  troubleChanged(lane: string): void;
}
