// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// @title A token that pays like an honest one until its mood says otherwise; anybody may change it.
/// @notice EIP-3009 and ERC-20 (for Permit2) with unchecked signatures: the facilitator checks them.
contract MoodyToken {
    enum Mood {
        Honest,
        // Every function fails: by a revert, by an invalid opcode, by burning the gas it is given.
        RevertsAll,
        HaltsAll,
        BurnsAll,
        // Pays while it is given less than `threshold` gas, and burns all it is given beyond that.
        BurnsUncapped,
        // Only a transfer burns; what is read from the token is cheap.
        BurnsTransfer,
        // Transfers pay; whether an authorization is used cannot be read.
        BurnsState,
        RevertsState,
        // Tells `watched`, the sender of the transaction, from everybody else.
        RevertsForSender,
        RevertsForOthers,
        // Tells by the gas it is given, and by the price.
        RevertsBelowGas,
        RevertsAtPrice,
        // Succeeds without paying: always, for `watched`, at a price, from a block on.
        DoesNothing,
        DoesNothingForSender,
        DoesNothingAtPrice,
        DoesNothingInBlocks,
        // Pays less than it should.
        PaysHalf,
        // Answers every question with 128 KiB.
        ReturnsMuch
    }

    Mood public mood;
    address public immutable watched;
    uint256 public immutable threshold;
    uint256 public fromBlock = type(uint256).max;

    mapping(address => uint256) private balances;
    mapping(address => mapping(bytes32 => bool)) private used;
    mapping(address => mapping(address => uint256)) public allowance;

    event Transfer(address indexed from, address indexed to, uint256 value);
    event AuthorizationUsed(address indexed authorizer, bytes32 indexed nonce);

    constructor(Mood mood_, address watched_, uint256 threshold_) {
        mood = mood_;
        watched = watched_;
        threshold = threshold_;
    }

    /// @notice From then on a token that does nothing in blocks does nothing.
    function setFromBlock(uint256 number) external {
        fromBlock = number;
    }

    function setMood(Mood mood_) external {
        mood = mood_;
    }

    function mint(address to, uint256 value) external {
        balances[to] += value;
        emit Transfer(address(0), to, value);
    }

    function approve(address spender, uint256 value) external returns (bool) {
        allowance[msg.sender][spender] = value;
        return true;
    }

    function name() external view returns (string memory) {
        _spoilRead();
        return "Moody";
    }

    function version() external view returns (string memory) {
        _spoilRead();
        return "1";
    }

    function decimals() external view returns (uint8) {
        _spoilRead();
        return 18;
    }

    function balanceOf(address owner) external view returns (uint256) {
        _spoilRead();
        return balances[owner];
    }

    function authorizationState(address owner, bytes32 nonce) external view returns (bool) {
        _spoilRead();
        if (mood == Mood.BurnsState) _burn();
        require(mood != Mood.RevertsState, "moody");
        return used[owner][nonce];
    }

    function transferWithAuthorization(
        address from,
        address to,
        uint256 value,
        uint256,
        uint256,
        bytes32 nonce,
        uint8,
        bytes32,
        bytes32
    ) external {
        _transferWithAuthorization(from, to, value, nonce);
    }

    function transferWithAuthorization(
        address from,
        address to,
        uint256 value,
        uint256,
        uint256,
        bytes32 nonce,
        bytes calldata
    ) external {
        _transferWithAuthorization(from, to, value, nonce);
    }

    function transferFrom(address from, address to, uint256 value) external returns (bool) {
        _spoilTransfer();
        if (_doesNothing()) return true;
        uint256 approved = allowance[from][msg.sender];
        require(approved >= value, "ERC20: transfer amount exceeds allowance");
        if (approved != type(uint256).max) allowance[from][msg.sender] = approved - value;
        _move(from, to, value);
        return true;
    }

    function _transferWithAuthorization(address from, address to, uint256 value, bytes32 nonce)
        private
    {
        _spoilTransfer();
        if (_doesNothing()) return;
        require(!used[from][nonce], "EIP3009: authorization is used or canceled");
        used[from][nonce] = true;
        emit AuthorizationUsed(from, nonce);
        _move(from, to, value);
    }

    function _move(address from, address to, uint256 value) private {
        require(balances[from] >= value, "ERC20: transfer amount exceeds balance");
        balances[from] -= value;
        balances[to] += mood == Mood.PaysHalf ? value / 2 : value;
        emit Transfer(from, to, value);
    }

    function _doesNothing() private view returns (bool) {
        if (mood == Mood.DoesNothing) return true;
        if (mood == Mood.DoesNothingForSender) return tx.origin == watched;
        if (mood == Mood.DoesNothingAtPrice) return tx.gasprice > 0;
        return mood == Mood.DoesNothingInBlocks && block.number >= fromBlock;
    }

    function _spoilTransfer() private view {
        _spoilAll();
        if (mood == Mood.BurnsTransfer) _burn();
        if (mood == Mood.RevertsForSender) require(tx.origin != watched, "moody");
        if (mood == Mood.RevertsForOthers) require(tx.origin == watched, "moody");
        if (mood == Mood.RevertsBelowGas) require(gasleft() >= threshold, "moody");
        if (mood == Mood.RevertsAtPrice) require(tx.gasprice == 0, "moody");
    }

    function _spoilRead() private view {
        _spoilAll();
        if (mood != Mood.ReturnsMuch) return;
        assembly {
            mstore(0, 0x20)
            return(0, 131072)
        }
    }

    function _spoilAll() private view {
        if (mood == Mood.RevertsAll) revert("moody");
        if (mood == Mood.HaltsAll) {
            assembly {
                invalid()
            }
        }
        if (mood == Mood.BurnsAll) _burn();
        if (mood == Mood.BurnsUncapped && gasleft() >= threshold) _burn();
    }

    function _burn() private view {
        assembly {
            for {} 1 {} { mstore(0, keccak256(0, 0x400)) }
        }
    }
}

/// @title Takes any call and does nothing, as wrapped native coins do by their fallback.
contract WrappedLikeToken {
    mapping(address => uint256) public balanceOf;

    event Deposit(address indexed to, uint256 value);

    function mint(address to, uint256 value) external {
        balanceOf[to] += value;
    }

    fallback() external payable {
        emit Deposit(msg.sender, msg.value);
    }
}
