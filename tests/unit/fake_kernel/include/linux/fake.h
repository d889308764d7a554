#define FAKE_FOUR 4
